class Menu(dict):
    def item(self, key):
        return self[key]


def report(menu, log):
    log.synchronize()
    log.empty_cache()
    log.write(f"{menu.item('a')}")
