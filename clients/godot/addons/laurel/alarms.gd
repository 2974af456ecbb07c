extends Reference
# Waits that can be ended early. The engine's timers follow `Engine.time_scale`, which networks do not.

var _waiting := []


class Alarm:
	extends Reference
	signal rang
	var due_ms := 0

	func ring_now() -> void:
		due_ms = 0


# `rang` of it is emitted after a time.
func alarm(ms: int) -> Alarm:
	var new_alarm := Alarm.new()
	new_alarm.due_ms = OS.get_ticks_msec() + ms
	_waiting.append(new_alarm)
	return new_alarm


# Once a frame: ends waits.
func poll() -> void:
	var now := OS.get_ticks_msec()
	for waiting in _waiting.duplicate():
		if waiting.due_ms <= now:
			_waiting.erase(waiting)
			waiting.emit_signal("rang")


# Ends all waits.
func end() -> void:
	for waiting in _waiting.duplicate():
		waiting.ring_now()
	poll()
