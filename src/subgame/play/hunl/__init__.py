"""The agent of whole no-limit hold'em: a blueprint, depth limits on early streets, then solving."""
