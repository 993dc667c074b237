"""Events of an adversary's view: what can be read, laid out, scored and searched for."""
