import { type Static, Type } from 'typebox';
import { Nullable, Uuid } from '../schemas.ts';

/** A part of an entry that Postgres refused: a record with its rows, a user's state, or the unreadable rest. */
export const FailedPart = Type.Object({
  part: Type.Enum(['record', 'state', 'rest']),
  /** Index among the entry's records or states; for the rest, the number of records before it. */
  at: Type.Integer(),
  /** The user's ID; absent if it cannot be read or the part is not about a user. */
  user: Type.Optional(Type.String()),
  /** Contains no data that a user sent. */
  reason: Type.String(),
});
export type FailedPart = Static<typeof FailedPart>;

export const DeadLetter = Type.Object({
  id: Uuid,
  shard: Type.Integer(),
  /** Position in the shard's outbox: `<epoch ms>-<sequence>`. */
  position: Type.String(),
  /** `null` if the entry could not be read. */
  tenantNo: Nullable(Type.Integer()),
  /** `stored`: a retry stored the whole entry. */
  status: Type.Enum(['waiting', 'stored']),
  reason: Type.String(),
  parts: Type.Array(FailedPart),
  tries: Type.Integer(),
  created: Type.String({ format: 'date-time' }),
  updated: Type.String({ format: 'date-time' }),
});
export type DeadLetter = Static<typeof DeadLetter>;

/** Includes the entry's readable content and its bytes. */
export const ShownDeadLetter = Type.Object({
  ...DeadLetter.properties,
  /** `null` if the entry has been stored, or if Redis held it and lost it. */
  entry: Nullable(
    Type.Object({
      records: Type.Array(Type.Unknown()),
      states: Type.Array(Type.Object({ user: Type.String(), state: Type.Unknown() })),
      /** The fields of the outbox entry, alternating names and values, each in base64. */
      fields: Type.Array(Type.String()),
    }),
  ),
});
export type ShownDeadLetter = Static<typeof ShownDeadLetter>;
