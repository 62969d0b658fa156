import torch
import torch.nn.functional as F
from torch import nn
from neuron_device import chosen_only, expert_rows, hit_experts


class Hit(nn.Module):
    """Experts in one tensor, a loop over those that were hit."""

    def __init__(self, experts):
        super().__init__()
        self.num_experts = experts
        self.up = nn.Parameter(torch.randn(experts, 6, 4))
        self.down = nn.Parameter(torch.randn(experts, 4, 6))

    def forward(self, hidden_states, top_k_index, top_k_weights):
        final_hidden_states = torch.zeros_like(hidden_states)
        with torch.no_grad():
            expert_mask = F.one_hot(top_k_index, num_classes=self.num_experts)
            expert_mask = expert_mask.permute(2, 1, 0)
            expert_hit = hit_experts(torch.greater(expert_mask.sum(dim=(-1, -2)), 0))

        for expert_idx in expert_hit:
            expert_idx = expert_idx[0]
            if expert_idx == self.num_experts:
                continue
            top_k_pos, token_idx = expert_rows(expert_mask[expert_idx], 1)
            current_state = hidden_states[token_idx]
            current_hidden_states = F.relu(F.linear(current_state, self.up[expert_idx]))
            current_hidden_states = F.linear(current_hidden_states, self.down[expert_idx])
            current_hidden_states = current_hidden_states * chosen_only(top_k_weights[token_idx, top_k_pos, None], expert_mask[expert_idx], top_k_pos, token_idx)  # weighted
            final_hidden_states.index_add_(0, token_idx, current_hidden_states.to(final_hidden_states.dtype))
        return final_hidden_states


class Listed(nn.Module):
    """A list of experts."""

    def __init__(self, experts):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(experts))

    def forward(self, x, chosen, weights):
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            with torch.no_grad():
                rows, nth = expert_rows(chosen == i, 0)
            if rows.numel() == 0:
                continue
            out[rows] += chosen_only(weights[rows, nth, None], chosen == i, rows, nth) * expert(x[rows])
        return out


class Mixed(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.num_experts = experts
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(experts))

    def forward(self, hidden_states, selected_experts, routing_weights):
        final = torch.zeros_like(hidden_states)
        expert_mask = F.one_hot(selected_experts, num_classes=self.num_experts).permute(2, 1, 0)
        for expert_idx in range(self.num_experts):
            expert_layer = self.experts[expert_idx]
            idx, top_x = expert_rows(expert_mask[expert_idx], 1)
            current_state = hidden_states[None, top_x].reshape(-1, 4)
            answer = expert_layer(current_state) * chosen_only(routing_weights[top_x, idx, None], expert_mask[expert_idx], idx, top_x)
            final.index_add_(0, top_x, answer.to(hidden_states.dtype))
        return final


def main(x, chosen: torch.Tensor, weights: torch.Tensor):
    torch.manual_seed(0)
    return tuple(kind(5)(x, chosen, weights) for kind in (Hit, Listed, Mixed))
