class Menu(dict):
    def item(self):
        return 1


def count(menu, n):
    total = 0
    for _ in range(n):
        total += menu.item()
    return total
