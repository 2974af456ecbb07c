import type { Catalogs } from '../../catalog/catalogs.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { compileTimePlan } from '../../catalog/compile/plans.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { epochDay } from '../../domain/periods.ts';
import type { DuePeriod } from '../../postgres/time-triggers.ts';
import { payTime } from '../../rules/clock.ts';
import type { Plan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { changeEach, type ChangeEachOptions } from '../changes/change-each.ts';
import { eventId } from '../ids.ts';
import { addTo } from '../../grouped.ts';

export interface TimePaymentsOptions extends ChangeEachOptions {
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
}

interface Payment {
  userId: string;
  dueMs: number;
  triggerNos: number[];
}

/** Payments in a call, between which events come. */
const PAYMENTS_A_CALL = 200;

export function createTimePayments(options: TimePaymentsOptions) {
  const { catalogs } = options;

  /** Pays periods of one UTC day, in order. Idempotent. Returns false if aborted. `version`: minimum catalog version. */
  async function pay(
    { tenantNo, version, periods }: { tenantNo: number; version: number; periods: readonly DuePeriod[] },
    ending: AbortSignal,
  ): Promise<boolean> {
    await catalogs.atLeast(tenantNo, version);
    const compiled = await catalogs.of(tenantNo);
    const payments = together(periods);
    const utcDay = epochDay(payments[0]?.dueMs ?? 0);
    const plan = compileTimePlan(compiled, utcDay);
    const aCall = fittingCall(compiled.userPlan(utcDay).work, PAYMENTS_A_CALL);
    for (let at = 0; at < payments.length; at += aCall) {
      if (ending.aborted) return false;
      await call(compiled, plan, payments.slice(at, at + aCall));
    }
    return true;
  }

  async function call(compiled: CompiledCatalog, plan: Plan, payments: readonly Payment[]): Promise<void> {
    const users = new Map<string, NumberedPayment[]>();
    for (const [place, payment] of payments.entries()) {
      const numbered = { ...payment, place, id: eventId(payment.dueMs) };
      addTo(users, payment.userId, numbered);
    }
    const each = Array.from(users, ([userId, own]) => ({ userId, payments: own }));
    await changeEach(options, compiled.catalog.tenantNo, each, (user, { userId, payments: own }) => {
      const ownBoosts = compiled.ownBoosts(userId);
      const records = own.flatMap(({ id, dueMs, triggerNos, place }) => {
        const outcome = payTime(user, plan, { triggers: triggerNos, dueMs, ownBoosts });
        if (outcome === null) return [];
        const record = requestRecord(user, outcome, { plan, nowMs: dueMs, isNew: false, id, userId });
        return [{ record, effects: outcome, place }];
      });
      return { records };
    });
  }

  return { pay };
}

export type TimePayments = ReturnType<typeof createTimePayments>;

/** A payment with the ID of its record and its place in the call. */
interface NumberedPayment extends Payment {
  place: number;
  id: string;
}

/** Groups periods in the order of their ends and users: those with the same user and time are one payment. */
function together(periods: readonly DuePeriod[]): Payment[] {
  const payments: Payment[] = [];
  for (const { userId, dueMs, triggerNo } of periods) {
    const last = payments.at(-1);
    if (last?.userId === userId && last.dueMs === dueMs) last.triggerNos.push(triggerNo);
    else payments.push({ userId, dueMs, triggerNos: [triggerNo] });
  }
  return payments;
}
