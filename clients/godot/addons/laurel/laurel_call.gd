extends Reference
# A call of the client that may have no answer yet: `yield(call, "completed")` waits for it.

# Emitted once, never before the call has been returned.
signal completed(laurel_call)

var is_done := false
# The answer's JSON; null if the call failed. All numbers are floats.
var data = null
# A LaurelError; null if the call succeeded.
var error = null
# Of calls that change something: the key that all attempts share.
var idempotency_key := ""


# For the client only: completes at the end of the frame, so that the caller can wait for it.
func complete_later(answer_data, answer_error) -> void:
	# The engine's queue holds its arguments, but not the target.
	call_deferred("_complete_held", self, answer_data, answer_error)


# For the client only.
func complete(answer_data, answer_error) -> void:
	if is_done:
		return
	is_done = true
	data = answer_data
	error = answer_error
	emit_signal("completed", self)


func _complete_held(_self, answer_data, answer_error) -> void:
	complete(answer_data, answer_error)
