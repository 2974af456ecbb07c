extends Reference
# Takes the place of the transport where a call cannot be sent: before `configure`, and without a user.

const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")

var _message: String


func _init(message: String) -> void:
	_message = message


func send(_request: Dictionary) -> LaurelCall:
	return fail(LaurelError.new("invalid_call", _message))


func fail(error: LaurelError) -> LaurelCall:
	var laurel_call := LaurelCall.new()
	laurel_call.complete_later(null, error)
	return laurel_call
