import { Type } from 'typebox';

export const ShownRequest = Type.Object({
  at: Type.String({ format: 'date-time' }),
  surface: Type.Enum(['admin', 'application']),
  method: Type.String(),
  /** Without its query. */
  path: Type.String(),
  status: Type.Integer(),
  durationMs: Type.Number(),
  /** Readable part of the API key. */
  key: Type.String(),
  /** Of a refused request: the code and, cut to 300 characters, the reason in its answer. */
  code: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
});
