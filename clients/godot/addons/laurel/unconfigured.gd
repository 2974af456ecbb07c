extends Reference
# Takes the place of the transport until `configure` is called: every call fails.

const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")


func send(_request: Dictionary) -> LaurelCall:
	return fail(LaurelError.new("invalid_call", "Laurel.configure must be called first."))


func fail(error: LaurelError) -> LaurelCall:
	var laurel_call := LaurelCall.new()
	laurel_call.complete_later(null, error)
	return laurel_call
