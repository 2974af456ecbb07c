/** What a request that is not an event changes: user fields, preferences, and an achievement to complete. */
import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { epochDay } from '../../domain/periods.ts';
import type { PlanAchievement } from '../../rules/plan.ts';
import type { SentProfile } from '../../rules/profile.ts';
import { requestRecord } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import { applyRequest } from '../../rules/request.ts';
import { eventId } from '../ids.ts';
import type { User } from '../../rules/user.ts';
import type { Scripts } from '../scripts.ts';
import { changeUser, refused, UNKNOWN_USER, unwritten, type UserChange, userOf, written } from './change-user.ts';

/** A request about a user. `mustExist`: refuses a user who does not exist, who is otherwise created. */
interface Request {
  userId: string;
  /** A function computes it from the user whom the change meets; `null` for nothing. */
  sent: SentProfile | null | ((user: User) => SentProfile | null);
  achievement?: PlanAchievement;
  mustExist?: boolean;
  nowMs: number;
}

/**
 * Creates or changes a user as `applyRequest` does. Writes nothing if nothing is sent for an existing user and no achievement is
 * completed. Idempotent. Throws 503.
 */
export async function changeByRequest(
  scripts: Scripts,
  compiled: CompiledCatalog,
  { userId, sent: asked, achievement, mustExist = false, nowMs }: Request,
  span?: Span,
): Promise<UserChange> {
  const { plan } = compiled.userPlan(epochDay(nowMs));
  const ownBoosts = compiled.ownBoosts(userId);
  const id = eventId(nowMs);
  const change = await changeUser(
    scripts,
    compiled.catalog.tenantNo,
    {
      userId,
      compute: (read, part) => {
        const isNew = read.packed === null;
        if (isNew && mustExist) return unwritten(read, UNKNOWN_USER);
        const user = userOf(read, plan, nowMs);
        const sent = typeof asked === 'function' ? asked(user) : asked;
        const request = { sent, ownBoosts, achievement: achievement ?? null };
        const outcome = applyRequest(user, request, { plan, nowMs, isNew });
        if (isRefusal(outcome)) return refused(read, outcome);
        const record = requestRecord(user, outcome, { plan, nowMs, isNew, id, userId });
        if (!isNew && sent === null && outcome.completed.length === 0) return unwritten(read, record);
        user.updatedMs = nowMs;
        return written(user, read, { part, record, effects: { ...outcome, isNew } });
      },
    },
    { span },
  );
  return change!;
}
