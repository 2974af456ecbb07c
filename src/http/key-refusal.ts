import { AppError } from '../errors.ts';

/** Why a key, or a session that stands for one, was not admitted (401) or not allowed (403). */
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

/** That a key was refused. A 401 does not say why: somebody who guesses keys would learn from it. */
export class KeyRefusal extends AppError {
  readonly reason: RefusalReason;
  /** The key's readable part; null where there was none to read. */
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
