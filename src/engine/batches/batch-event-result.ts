import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { GUARDED } from '../../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { REFUSAL, REPLAY, UNSENT } from '../../packed/refusal-fields.ts';
import { decimalOf, type PackedTotal } from '../../packed/state.ts';
import { decimalNumber } from '../../domain/decimal.ts';
import type { BatchEventResult, BatchMetricEvent } from '../../domain/event.ts';
import { ERRORS } from '../../errors.ts';
import type { GuardedEvent } from '../../domain/guards.ts';
import type { BatchReply } from '../../redis/batches.ts';
import { isOtherBody, timeOfUse } from '../../redis/idempotency.ts';
import { bodyOf } from '../events/prepare-event.ts';
import { uuidText } from '../../domain/uuid.ts';
import type { KeyedIds } from '../ids/keyed-ids.ts';
import { guardedResult, guardError, guardName, isQuarantined, quarantinedBy } from '../events/guarded-answer.ts';
import { refusalError } from '../refusals.ts';

/** What became of an event of a batch, for who sent it: the statuses are those of the single operation. */
export function batchEventResult(
  { compiled, ids }: { compiled: CompiledCatalog; ids: KeyedIds },
  event: BatchMetricEvent,
  reply: BatchReply,
): BatchEventResult {
  const { key, user, idempotencyKey } = event;
  if (reply[kindField] === REFUSAL.unsent) {
    const code = reply[UNSENT.code];
    return { status: ERRORS[code].status, error: reply[UNSENT.message], code };
  }
  if (reply[kindField] === KIND.event) {
    const total = totalOf(reply[RECORD.total]!);
    return { status: 201, eventId: uuidText(reply[RECORD.id]), total, replayed: false, ...guardedResult(reply) };
  }
  if (reply[kindField] === KIND.guarded && isQuarantined(reply)) {
    const guarded = inQuarantine(reply[RECORD.guard][GUARDED.guard]);
    const total = totalOf(reply[RECORD.total]!);
    return { status: 202, eventId: uuidText(reply[RECORD.id]), total, replayed: false, guarded };
  }
  const metric = compiled.metrics.get(key);
  if (reply[kindField] === REFUSAL.replay) {
    const total = totalOf(reply[REPLAY.total]);
    // A metric that was deleted since has no number any more to make the ID from.
    if (metric === undefined) return { status: 202, total, replayed: true };
    const { tenantNo } = compiled.catalog;
    const id = ids.make(Number(timeOfUse(reply[REPLAY.use])), {
      tenantNo,
      userId: user.id,
      metricNo: metric.no,
      key: idempotencyKey!,
    });
    const guard = quarantinedBy(reply[REPLAY.quarantined], id);
    const guarded = guard === null ? {} : { guarded: inQuarantine(guard) };
    const conflict = isOtherBody(reply[REPLAY.use], bodyOf(event)) ? { idempotencyConflict: true } : {};
    return { status: 202, eventId: uuidText(id), total, replayed: true, ...conflict, ...guarded };
  }
  const { status, message, code } =
    reply[kindField] === KIND.guarded ? guardError(compiled, reply) : refusalError(compiled, reply);
  return { status, error: message, code };
}

const inQuarantine = (guard: number): GuardedEvent => ({ guard: guardName(guard), action: 'quarantine' });

const totalOf = (packed: PackedTotal): number => decimalNumber(decimalOf(packed));
