import { EVENT_RECORD, KIND, kindField, RECORD } from './record-fields.ts';

/**
 * Converts an event's record, which is packed as a list (EVENT_RECORD), to a map by RECORD. Returns other values unchanged: other records and
 * refusals are packed as maps.
 */
export function recordOf(value: unknown): unknown {
  if (!Array.isArray(value) || value[EVENT_RECORD.kind] !== KIND.event || value.length <= EVENT_RECORD.boards)
    return value;
  const list = value as unknown[];
  const record: Record<string, unknown> = {
    [kindField]: KIND.event,
    [RECORD.id]: list[EVENT_RECORD.id],
    [RECORD.userId]: list[EVENT_RECORD.userId],
    [RECORD.atMs]: list[EVENT_RECORD.atMs],
    [RECORD.day]: list[EVENT_RECORD.day],
    [RECORD.metric]: list[EVENT_RECORD.metric],
    [RECORD.value]: [list[EVENT_RECORD.whole], list[EVENT_RECORD.micros]],
    [RECORD.total]: [list[EVENT_RECORD.totalWhole], list[EVENT_RECORD.totalMicros]],
    [RECORD.streak]: list[EVENT_RECORD.streak],
    [RECORD.boards]: list[EVENT_RECORD.boards],
  };
  // Fields that an event lacks are `false`.
  if (list[EVENT_RECORD.points]) record[RECORD.points] = list[EVENT_RECORD.points];
  if (list[EVENT_RECORD.version]) record[RECORD.version] = list[EVENT_RECORD.version];
  if (list[EVENT_RECORD.attributes]) record[RECORD.attributes] = list[EVENT_RECORD.attributes];
  if (list[EVENT_RECORD.idempotencyKey]) record[RECORD.idempotencyKey] = list[EVENT_RECORD.idempotencyKey];
  return list[EVENT_RECORD.more] === undefined ? record : Object.assign(record, list[EVENT_RECORD.more]);
}
