extends Reference
# Keeps the events of the queue in a folder: a file for each, numbered in their order.
#
# A file is written under another name and renamed when it is complete, and its name is never used before. (On Windows,
# the engine replaces a file by deleting it first, so one file that is rewritten could be lost.) After a crash of the
# game at any point, the folder therefore holds each event completely or not at all. The engine cannot ask the system
# to write to the disk at once, so a power failure may take the last seconds.

const LaurelError := preload("laurel_error.gd")
const WireFormat := preload("wire_format.gd")

# Events, oldest first: id, file, owner (null: a client without a user), metric, user, value (JSON as text), attributes,
# occurredAt, idempotencyKey.
var events := []

var _folder: String
var _next_number := 1
var _directory := Directory.new()


func _init(folder: String) -> void:
	_folder = folder


# Reads the folder. Returns an error for each file that is not an event.
func open() -> Array:
	var errors := []
	events = []
	if _directory.make_dir_recursive(_folder) != OK or _directory.open(_folder) != OK:
		return [LaurelError.new("not_stored", "The folder %s cannot be opened." % _folder)]
	for name in _names():
		if name.ends_with(".tmp"):
			# The game ended while it was written, before `add` returned.
			var _error := _directory.remove(_folder.plus_file(name))
		elif name.ends_with(".json"):
			_next_number = int(max(_next_number, int(name.left(16)) + 1))
			var event = _read(name)
			if event == null:
				var path := _folder.plus_file(name)
				var _error := _directory.rename(path, path + ".broken")
				errors.append(LaurelError.new("unreadable_event", "%s.broken is not an event." % path))
			else:
				event.file = name
				events.append(event)
	return errors


# Stores an event. Returns an error if there are `most` already, or if it cannot be written.
func add(event: Dictionary, most: int) -> LaurelError:
	if events.size() >= most:
		return LaurelError.new("queue_full", "%d events already wait to be sent." % most)
	var file := "%016d-%s.json" % [_next_number, event.id]
	var path := _folder.plus_file(file)
	var text := WireFormat.json(event)
	# The engine reports no failed write, such as on a full disk.
	if not _write(path + ".tmp", text) or _text_of(path + ".tmp") != text:
		var _error := _directory.remove(path + ".tmp")
		return LaurelError.new("not_stored", "%s cannot be written." % path)
	if _directory.rename(path + ".tmp", path) != OK:
		return LaurelError.new("not_stored", "%s cannot be written." % path)
	_next_number += 1
	event.file = file
	events.append(event)
	return null


# Forgets an event; nothing happens if it is not there.
func remove(event: Dictionary) -> LaurelError:
	var path: String = _folder.plus_file(event.file)
	if _directory.file_exists(path) and _directory.remove(path) != OK:
		return LaurelError.new("not_stored", "%s cannot be removed." % path)
	events.erase(event)
	return null


func _names() -> Array:
	var names := []
	if _directory.list_dir_begin(true) == OK:
		var name := _directory.get_next()
		while name != "":
			names.append(name)
			name = _directory.get_next()
		_directory.list_dir_end()
	names.sort()
	return names


static func _write(path: String, text: String) -> bool:
	var file := File.new()
	if file.open(path, File.WRITE) != OK:
		return false
	file.store_string(text)
	file.close()
	return true


# An empty text if it cannot be read.
static func _text_of(path: String) -> String:
	var file := File.new()
	if file.open(path, File.READ) != OK:
		return ""
	var text := file.get_as_text()
	file.close()
	return text


func _read(name: String):
	var parsed := JSON.parse(_text_of(_folder.plus_file(name)))
	if parsed.error != OK or not parsed.result is Dictionary:
		return null
	var event: Dictionary = parsed.result
	for field in ["id", "metric", "value", "occurredAt", "idempotencyKey"]:
		if not event.get(field) is String:
			return null
	var owner = event.get("owner")
	var is_complete: bool = event.get("user") is Dictionary and event.get("attributes") is Dictionary
	return event if is_complete and (owner == null or owner is String) else null
