import { AppError } from '../errors.ts';

/** Why a key or session was not authenticated (401) or not authorised (403). */
export const REFUSAL_REASONS = {
  missing: 'unauthorized',
  malformed: 'unauthorized',
  unknown: 'unauthorized',
  wrong_secret: 'unauthorized',
  inactive: 'unauthorized',
  expired: 'unauthorized',
  session: 'unauthorized',
  sign_in: 'unauthorized',
  csrf: 'forbidden',
  scope: 'forbidden',
  tenant: 'forbidden',
  user: 'forbidden',
  surface: 'forbidden',
} as const;
export type RefusalReason = keyof typeof REFUSAL_REASONS;

/** A key was refused. A 401 does not say why, because that would help somebody who guesses keys. */
export class KeyRefusal extends AppError {
  readonly reason: RefusalReason;
  /** The key's readable part; `null` if there is none. */
  readonly prefix: string | null;

  constructor(
    reason: RefusalReason,
    { prefix, message }: { prefix: string | null; message?: string } = { prefix: null },
  ) {
    super(REFUSAL_REASONS[reason], message ?? 'The API key is missing or not valid');
    this.reason = reason;
    this.prefix = prefix;
  }
}
