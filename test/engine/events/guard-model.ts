import { Temporal } from 'temporal-polyfill';
import { GUARD_NAMES, type GuardName, type MetricGuards } from '../../../src/domain/administration/guards.ts';

/** The outcome of an event. */
export type Expected =
  | { status: 201; total: number; guarded?: { guard: GuardName; action: 'clamp'; value: number } }
  | { status: 202; total: number; guarded: { guard: GuardName; action: 'quarantine' } }
  | { status: 422; refusedBy: GuardName };

interface Applied {
  user: string;
  value: number;
  atMs: number;
}

const rounded = (value: number): number => Math.round(value * 1e6) / 1e6 + 0;

/** Guards by their description: keeps every applied event and sums what counts each time. A user's ID is its zone. */
export class GuardModel {
  private readonly applied: Applied[] = [];
  private readonly guards: MetricGuards;

  constructor(guards: MetricGuards) {
    this.guards = guards;
  }

  event(user: string, sent: number, atMs: number): Expected {
    const total = this.sum(user, () => true);
    let value = sent;
    let clampedBy: GuardName | undefined;
    let keptBy: GuardName | undefined;
    for (const guard of GUARD_NAMES) {
      const action = this.guards[guard]?.action;
      const allowed = action === undefined ? value : this.allowed(guard, { user, value, atMs });
      if (allowed === value) continue;
      if (action === 'refuse') return { status: 422, refusedBy: guard };
      if (action === 'quarantine') keptBy ??= guard;
      else [value, clampedBy] = [allowed, guard];
    }
    if (keptBy !== undefined) return { status: 202, total, guarded: { guard: keptBy, action: 'quarantine' } };
    this.applied.push({ user, value, atMs });
    const after = rounded(total + value);
    if (clampedBy === undefined) return { status: 201, total: after };
    return { status: 201, total: after, guarded: { guard: clampedBy, action: 'clamp', value } };
  }

  /** The nearest value to an event's that a guard allows; NaN if there is none. */
  private allowed(guard: GuardName, { user, value, atMs }: Applied): number {
    const { limit } = this.guards[guard]!;
    if (guard === 'minValue') return Math.max(value, limit);
    if (guard === 'maxValue') return Math.min(value, limit);
    if (guard === 'minSecondsBetween') {
      const near = this.applied.some((one) => one.user === user && Math.abs(atMs - one.atMs) < limit * 1000);
      return near ? NaN : value;
    }
    if (value < 0) return value;
    const day = (ms: number): string =>
      Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(user).toPlainDate().toString();
    const counts = {
      maxSumPerHour: (ms: number) => Math.floor(ms / 3_600_000) === Math.floor(atMs / 3_600_000),
      maxSumPerDay: (ms: number) => day(ms) === day(atMs),
      maxTotal: () => true,
    }[guard];
    return Math.min(value, Math.max(0, rounded(limit - this.sum(user, counts))));
  }

  private sum(user: string, counts: (atMs: number) => boolean): number {
    const own = this.applied.filter((one) => one.user === user && counts(one.atMs));
    return rounded(own.reduce((sum, { value }) => sum + value, 0));
  }
}
