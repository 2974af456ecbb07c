import { Type, type Static } from 'typebox';

/** A map of strings. Unlike a record by pattern it also covers keys with line breaks. */
export const StringMap = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
});

export const UserId = Type.String({ minLength: 1, maxLength: 255 });

const userFields = {
  email: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  tz: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  deviceTokens: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  subscribeToEmails: Type.Optional(Type.Boolean()),
  attributes: Type.Optional(StringMap),
};

/** User fields to set: sent ones replace, others stay. */
export const UpdatedUser = Type.Object(userFields);
export type UpdatedUser = Static<typeof UpdatedUser>;

/** The user of an event, by ID, with fields to set. */
export const UpsertedUser = Type.Object({ id: UserId, ...userFields });
export type UpsertedUser = Static<typeof UpsertedUser>;

export const User = Type.Object({
  id: Type.String(),
  email: Type.Union([Type.String(), Type.Null()]),
  name: Type.Union([Type.String(), Type.Null()]),
  tz: Type.Union([Type.String(), Type.Null()]),
  deviceTokens: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  subscribeToEmails: Type.Boolean(),
  attributes: StringMap,
  control: Type.Boolean(),
  created: Type.String({ format: 'date-time' }),
  updated: Type.String({ format: 'date-time' }),
});
export type User = Static<typeof User>;
