extends Reference
# How values are written in requests.


# Why a value cannot be written as JSON; an empty text if it can.
static func fault(value) -> String:
	match typeof(value):
		TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_STRING:
			return ""
		TYPE_REAL:
			return "not a finite number" if is_nan(value) or is_inf(value) else ""
		TYPE_ARRAY, TYPE_STRING_ARRAY:
			for item in value:
				if fault(item) != "":
					return fault(item)
			return ""
		TYPE_DICTIONARY:
			for key in value:
				if not key is String:
					return "a name that is not a text"
				if fault(value[key]) != "":
					return fault(value[key])
			return ""
	return "a value that JSON does not have"


# JSON with names in order, so that equal values have equal texts. The engine's own `to_json` does not escape control
# characters. Fractions have six decimals, which is Laurel's precision.
static func json(value) -> String:
	match typeof(value):
		TYPE_STRING:
			return _json_text(value)
		TYPE_ARRAY, TYPE_STRING_ARRAY:
			var items := PoolStringArray()
			for item in value:
				items.append(json(item))
			return "[%s]" % items.join(",")
		TYPE_DICTIONARY:
			var names: Array = value.keys()
			names.sort()
			var fields := PoolStringArray()
			for name in names:
				fields.append(_json_text(name) + ":" + json(value[name]))
			return "{" + fields.join(",") + "}"
	return to_json(value)


static func _json_text(text: String) -> String:
	var escaped := text.replace("\\", "\\\\").replace('"', '\\"')
	for code in range(1, 32):
		escaped = escaped.replace(char(code), "\\u%04x" % code)
	return '"' + escaped + '"'


# A path with encoded segments: `path(["users", "a/b"])` is `/users/a%2Fb`.
static func path(segments: Array) -> String:
	var text := ""
	for segment in segments:
		text += "/" + str(segment).http_escape()
	return text


# Null values are left out; a list repeats its name.
static func query(fields: Dictionary) -> String:
	var pairs := PoolStringArray()
	for name in fields:
		var values = fields[name] if fields[name] is Array else [fields[name]]
		for value in values:
			if value != null:
				pairs.append("%s=%s" % [str(name).http_escape(), _query_value(value).http_escape()])
	return "" if pairs.empty() else "?" + pairs.join("&")


static func _query_value(value) -> String:
	return value if value is String else json(value)


# Milliseconds since 1970 as ISO 8601.
static func iso_time(unix_ms: int) -> String:
	# warning-ignore:integer_division
	var parts := OS.get_datetime_from_unix_time(unix_ms / 1000)
	var date := "%04d-%02d-%02d" % [parts.year, parts.month, parts.day]
	return "%sT%02d:%02d:%02d.%03dZ" % [date, parts.hour, parts.minute, parts.second, unix_ms % 1000]


# A key that no other call has: the time, and 96 random bits.
static func new_idempotency_key() -> String:
	return "%x-%s" % [OS.get_system_time_msecs(), _random_bytes(12).hex_encode()]


static func _random_bytes(size: int) -> PoolByteArray:
	# Not in exports for browsers.
	if ClassDB.can_instance("Crypto"):
		return ClassDB.instance("Crypto").generate_random_bytes(size)
	var random := RandomNumberGenerator.new()
	random.randomize()
	var bytes := PoolByteArray()
	for _index in size:
		bytes.append(random.randi() & 255)
	return bytes
