import { RECORD } from '../../packed/record-fields.ts';
import type { Refusal as PackedRefusal } from '../../packed/record.ts';
import {
  BLOCKED,
  INSUFFICIENT,
  OUT_OF_RANGE,
  OUTDATED,
  REFUSAL,
  REQUIRED,
  SERVER_ONLY,
  TOO_MANY_KEYS,
  UNCHANGED,
} from '../../packed/refusal-fields.ts';
import type { Refusal } from '../../rules/refusal.ts';

/** A refusal as callers read it. */
export function packedRefusal(refusal: Refusal): PackedRefusal {
  switch (refusal.refusal) {
    case 'outOfPoints':
      return { [RECORD.kind]: REFUSAL.outOfPoints, [BLOCKED.trigger]: refusal.trigger };
    case 'outOfRange':
      return {
        [RECORD.kind]: REFUSAL.outOfRange,
        [OUT_OF_RANGE.metric]: refusal.metric,
        [OUT_OF_RANGE.sum]: refusal.sum,
        ...(refusal.no !== undefined && { [OUT_OF_RANGE.no]: refusal.no }),
      };
    case 'tooManyKeys':
      return { [RECORD.kind]: REFUSAL.tooManyKeys, [TOO_MANY_KEYS.waitMs]: refusal.waitMs };
    case 'serverOnly':
      return { [RECORD.kind]: REFUSAL.serverOnly, [SERVER_ONLY.no]: refusal.no };
    case 'required':
      return { [RECORD.kind]: REFUSAL.required, [REQUIRED.missing]: refusal.missing };
    case 'outdated':
      return {
        [RECORD.kind]: REFUSAL.outdated,
        ...(refusal.whole !== undefined && { [OUTDATED.whole]: refusal.whole, [OUTDATED.micros]: refusal.micros! }),
      };
    case 'insufficient':
      return { [RECORD.kind]: REFUSAL.insufficient, [INSUFFICIENT.balance]: refusal.balance };
    case 'unchanged':
      return { [RECORD.kind]: REFUSAL.unchanged, [UNCHANGED.why]: refusal.why, [UNCHANGED.day]: refusal.day };
    case 'tooLarge':
    case 'profileTooLarge':
    case 'futureSignUp':
    case 'noAddress':
    case 'locked':
    case 'unmetConditions':
    case 'notQuarantined':
    case 'manyHolds':
    case 'notHeld':
    case 'held':
      return { [RECORD.kind]: REFUSAL[refusal.refusal] };
  }
}
