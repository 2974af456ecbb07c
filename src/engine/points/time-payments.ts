import type { Redis } from 'ioredis';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { compileTimePlan } from '../../catalog/compile/plans.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { zoneOffset } from '../../domain/zone.ts';
import type { DuePeriod } from '../../postgres/time-triggers.ts';
import { USER } from '../../packed/user-fields.ts';
import { eventId } from '../ids.ts';
import { callUsers } from '../scripts.ts';
import { unpackState } from '../../packed/state.ts';
import { packedUsers } from '../../redis/parts.ts';

export interface TimePaymentsOptions {
  redis: Redis;
  onWritten: (shard: number) => void;
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
}

interface Payment {
  userId: string;
  dueMs: number;
  triggerNos: number[];
}

/** Payments in a script call: 200 take about 5 ms of Redis, so events wait at most that long. */
const PAYMENTS_A_CALL = 200;
/** How often a zone may change in a joint call before each user is paid alone. */
const TRIES = 3;
/** How often a user may change zone when paid alone, before the call fails. */
const TRIES_ALONE = 50;

export class TimePayments {
  private readonly options: TimePaymentsOptions;

  constructor(options: TimePaymentsOptions) {
    this.options = options;
  }

  /** Pays periods of one UTC day, in order. Idempotent. Returns false if aborted. `version`: minimum catalog version. */
  async pay(
    { tenantNo, version, periods }: { tenantNo: number; version: number; periods: readonly DuePeriod[] },
    ending: AbortSignal,
  ): Promise<boolean> {
    const { catalogs } = this.options;
    await catalogs.atLeast(tenantNo, version);
    const compiled = await catalogs.of(tenantNo);
    const payments = together(periods);
    const utcDay = Math.floor((payments[0]?.dueMs ?? 0) / DAY_MS);
    const plan = JSON.stringify(compileTimePlan(compiled, utcDay));
    const aCall = fittingCall(compiled.userPlan(utcDay).work, PAYMENTS_A_CALL);
    for (let at = 0; at < payments.length; at += aCall) {
      if (ending.aborted) return false;
      let waiting = payments.slice(at, at + aCall);
      for (let tries = 0; waiting.length > 0 && tries < TRIES; tries += 1)
        waiting = await this.unpaid(compiled, plan, waiting);
      for (const payment of waiting) await this.payAlone(compiled, plan, payment);
    }
    return true;
  }

  private async payAlone(compiled: CompiledCatalog, plan: string, payment: Payment): Promise<void> {
    for (let tries = 0; tries < TRIES_ALONE; tries += 1)
      if ((await this.unpaid(compiled, plan, [payment])).length === 0) return;
    throw new Error('A user keeps changing zone.');
  }

  /** Makes payments. Returns those to repeat because the users are in another zone. */
  private async unpaid(compiled: CompiledCatalog, plan: string, payments: readonly Payment[]): Promise<Payment[]> {
    const outcomes = await this.call({ compiled, plan, payments });
    return payments.filter((_, index) => outcomes[index] === -1);
  }

  private async call({
    compiled,
    plan,
    payments,
  }: {
    compiled: CompiledCatalog;
    plan: string;
    payments: readonly Payment[];
  }): Promise<number[]> {
    const { tenantNo } = compiled.catalog;
    const userIds = payments.map(({ userId }) => userId);
    const states = await packedUsers(this.options.redis, tenantNo, userIds);
    const due = payments.map(({ userId, dueMs, triggerNos }, index) => {
      const packed = states[index];
      const zone = packed ? (unpackState(packed)[USER.zone] ?? '') : '';
      return {
        userId,
        id: eventId(dueMs),
        dueMs,
        triggers: triggerNos,
        boosts: compiled.personalBoosts.get(userId),
        zone,
        offsetSeconds: zone === '' ? 0 : (zoneOffset(zone, dueMs)?.offsetSeconds ?? 0),
      };
    });
    return callUsers(this.options, tenantNo, {
      script: 'pay_time_triggers',
      nowMs: payments[0]!.dueMs,
      plan,
      users: due,
      body: (some) => ({ payments: [...some] }),
    });
  }
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
