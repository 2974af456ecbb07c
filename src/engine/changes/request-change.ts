/** Computes what a request that is not an event changes: user fields, preferences, and an achievement to complete. */
import { RECORD } from '../../packed/record-fields.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { TenantPart } from '../../redis/keys.ts';
import type { Plan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import { applyRequest, type UserRequest } from '../../rules/request.ts';
import type { ReadUser } from './change-users.ts';
import { unwritten, type UserChange, userOf, written } from './change-user.ts';

interface Surroundings {
  part: TenantPart;
  /** Of no metric. */
  plan: Plan;
  nowMs: number;
  userId: string;
  /** The record's ID (32 hex digits). */
  id: string;
  /** Refuses a user who does not exist. */
  mustExist?: boolean;
}

/**
 * Creates or changes a user, in the way of `applyRequest`. Writes nothing if nothing is sent for an existing user, and no achievement
 * is completed.
 */
export function requestChange(
  request: UserRequest,
  read: ReadUser,
  { part, plan, nowMs, userId, id, mustExist = false }: Surroundings,
): UserChange {
  const isNew = read.packed === null;
  if (isNew && mustExist) return unwritten(read, { [RECORD.kind]: REFUSAL.unknownUser });
  const user = userOf(read, plan, nowMs);
  const outcome = applyRequest(user, request, { plan, nowMs, isNew });
  if (isRefusal(outcome)) return unwritten(read, outcome);
  const record = requestRecord(user, outcome, { plan, nowMs, isNew, id, userId });
  if (!isNew && request.sent === null && outcome.completed.length === 0) return unwritten(read, record);
  user.updatedMs = nowMs;
  return written(user, read, { part, record, effects: { ...outcome, isNew } });
}
