import { type Static, Type } from 'typebox';
import { EventResponse } from '../event.ts';
import { Nullable, Uuid } from '../schemas.ts';
import { UserId } from '../user.ts';
import { AdminIssue } from './admin.ts';
import { GUARD_NAMES } from './guards.ts';

const DateTime = Type.String({ format: 'date-time' });
const Guard = Type.Enum([...GUARD_NAMES]);
const Status = Type.Enum(['waiting', 'released', 'dropped']);

export const QuarantinedEvent = Type.Object({
  /** The event's ID, as its sender received it. */
  id: Uuid,
  userId: Type.String(),
  /** `null` if the metric was deleted. */
  metricKey: Nullable(Type.String()),
  guard: Guard,
  value: Type.Number(),
  attributes: Nullable(Type.Record(Type.String(), Type.String())),
  idempotencyKey: Nullable(Type.String()),
  status: Status,
  at: DateTime,
  /** When an administrator released or dropped the event. */
  settled: Nullable(DateTime),
});
export type QuarantinedEvent = Static<typeof QuarantinedEvent>;

/** A page of the quarantine, newest first. `nextCursor` is `null` on the last page. */
export const QuarantinedEvents = Type.Object({
  events: Type.Array(QuarantinedEvent),
  nextCursor: Nullable(Type.String()),
});

/** Filters. `from` and `to` apply to the time when events were sent. */
export const QuarantineQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Uuid),
  status: Type.Optional(Status),
  userId: Type.Optional(UserId),
  metricKey: Type.Optional(Type.String({ maxLength: 255 })),
  guard: Type.Optional(Guard),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
});
export type QuarantineQuery = Static<typeof QuarantineQuery>;

export const QuarantinedIds = Type.Object({ ids: Type.Array(Uuid, { minItems: 1, maxItems: 1_000 }) });

/** A released event and its result; `event` is `null` if an earlier call released it. */
export const ReleasedEvent = Type.Object({ id: Uuid, event: Nullable(EventResponse) });
export type ReleasedEvent = Static<typeof ReleasedEvent>;

export const ReleasedEvents = Type.Object({ released: Type.Array(ReleasedEvent), issues: Type.Array(AdminIssue) });

export const GuardCount = Type.Object({
  metricKey: Nullable(Type.String()),
  guard: Guard,
  refused: Type.Integer(),
  clamped: Type.Integer(),
  quarantined: Type.Integer(),
  last: DateTime,
});
export type GuardCount = Static<typeof GuardCount>;
