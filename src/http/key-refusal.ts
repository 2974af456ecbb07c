import { AppError } from '../errors.ts';

/** Why a key or session was not authenticated (401) or not authorised (403). */
export const REFUSAL_REASONS = {
  missing: 'missing_key',
  malformed: 'invalid_key',
  unknown: 'invalid_key',
  wrong_secret: 'invalid_key',
  inactive: 'invalid_key',
  expired: 'invalid_key',
  session: 'unauthorized',
  sign_in: 'invalid_key',
  csrf: 'forbidden',
  scope: 'insufficient_scope',
  tenant: 'forbidden',
  user: 'forbidden',
  surface: 'forbidden',
} as const;
export type RefusalReason = keyof typeof REFUSAL_REASONS;

/** A key was refused. A 401 says whether a key was sent, but not why it is invalid: that would help somebody who guesses keys. */
export class KeyRefusal extends AppError {
  readonly reason: RefusalReason;
  /** The key's readable part; `null` if there is none. */
  readonly prefix: string | null;

  constructor(
    reason: RefusalReason,
    { prefix, message, hint }: { prefix: string | null; message?: string; hint?: string } = { prefix: null },
  ) {
    const code = REFUSAL_REASONS[reason];
    super(code, message ?? (code === 'missing_key' ? 'The API key is missing' : 'The API key is not valid'), { hint });
    this.reason = reason;
    this.prefix = prefix;
  }
}
