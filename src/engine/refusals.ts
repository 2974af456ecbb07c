import type { CompiledCatalog } from '../catalog/compiled-catalog.ts';
import { SUM_BOUND } from '../domain/decimal.ts';
import { AppError } from '../errors.ts';
import type { HappenedRecord, Refusal, ScriptReply } from '../packed/record.ts';
import { kindField } from '../packed/record-fields.ts';
import {
  BLOCKED,
  INSUFFICIENT,
  OUT_OF_RANGE,
  REQUIRED,
  REFUSAL,
  SERVER_ONLY,
  SUM,
  TOO_MANY_KEYS,
} from '../packed/refusal-fields.ts';
import { PROFILE_BYTES, STATE_BYTES } from '../packed/state.ts';
import { HOLD } from '../packed/user-fields.ts';
import { SECRET_NAME } from './responses/achievements.ts';

export const SUBSCRIBED_WITHOUT_ADDRESS =
  'user.subscribeToEmails cannot be true: the user has no e-mail address on record.';

export const FUTURE_SIGN_UP = "user.signUpDate must not be after the user's local date.";

export const STATE_IS_FULL = `The user's data would have more than ${STATE_BYTES} bytes: shorten or clear attributes, device tokens or the name.`;

export const PROFILE_IS_FULL =
  `The user's name, e-mail address, device tokens and attributes would have more than ${PROFILE_BYTES} bytes together: ` +
  'shorten or clear some.';

export const NO_SPENDING = 'There is no spending or hold with this ID of the user in this points system.';

export function refusalError(compiled: CompiledCatalog, reply: ScriptReply): AppError {
  if (reply[kindField] === REFUSAL.noAddress) {
    return new AppError('unprocessable', SUBSCRIBED_WITHOUT_ADDRESS);
  }
  if (reply[kindField] === REFUSAL.futureSignUp) return new AppError('unprocessable', FUTURE_SIGN_UP);
  if (reply[kindField] === REFUSAL.serverOnly) {
    const no = reply[SERVER_ONLY.no];
    const field = no === 0 ? 'signUpDate' : `attributes.${compiled.attributesByNo.get(no)?.key}`;
    return new AppError('unprocessable', `user.${field} may be changed with admin keys only (writableBy 'server').`);
  }
  if (reply[kindField] === REFUSAL.outOfPoints) {
    const trigger = compiled.triggersByNo.get(reply[BLOCKED.trigger]);
    const system = compiled.pointsSystemsById.get(trigger?.systemId ?? '');
    return new AppError('out_of_points', `Out of points: the user's balance in '${system?.key}' does not cover this.`);
  }
  if (reply[kindField] === REFUSAL.insufficient) {
    const balance = reply[INSUFFICIENT.balance];
    return new AppError('insufficient_balance', `The balance is ${balance}: it does not cover the amount.`, {
      fields: { balance },
    });
  }
  if (reply[kindField] === REFUSAL.manyHolds)
    return new AppError(
      'conflict',
      `The user has ${HOLD.most} open holds in this points system: capture or release some.`,
    );
  if (reply[kindField] === REFUSAL.notHeld) return new AppError('not_found', NO_SPENDING);
  if (reply[kindField] === REFUSAL.tooManyKeys)
    return new AppError(
      'too_many_requests',
      'The user has reached the limit of idempotency keys for today (UTC): try again tomorrow.',
      { headers: { 'Retry-After': String(Math.ceil(reply[TOO_MANY_KEYS.waitMs] / 1000)) } },
    );
  if (reply[kindField] === REFUSAL.tooLarge) return new AppError('unprocessable', STATE_IS_FULL);
  if (reply[kindField] === REFUSAL.profileTooLarge) return new AppError('unprocessable', PROFILE_IS_FULL);
  if (reply[kindField] === REFUSAL.outOfRange) return new AppError('unprocessable', outOfRange(compiled, reply));
  if (reply[kindField] === REFUSAL.unknownUser)
    return new AppError('not_found', 'Unknown user: no event and no call has named this ID yet.');
  if (reply[kindField] === REFUSAL.held)
    return new AppError('unavailable', 'The user is being merged with another; try again in a moment.');
  if (reply[kindField] === REFUSAL.locked)
    return new AppError('unprocessable', 'The achievement is locked: no further users can complete it.');
  if (reply[kindField] === REFUSAL.unmetConditions) {
    return new AppError('unprocessable', "The user's attributes do not meet the achievement's conditions.");
  }
  if (reply[kindField] === REFUSAL.required) {
    const missing = reply[REQUIRED.missing].map((no) => {
      const achievement = compiled.achievementsByNo.get(no);
      return `'${achievement?.secret ? SECRET_NAME : (achievement?.key ?? achievement?.name)}'`;
    });
    return new AppError('conflict', `The user must complete these achievements first: ${missing.join(', ')}.`);
  }
  return new AppError('internal', 'Internal error');
}

/** Returns the record of a reply that has one of the given kinds; otherwise throws the error for the refusal. */
export function unlessRefused(compiled: CompiledCatalog, reply: ScriptReply, kinds: readonly string[]): HappenedRecord {
  if (!kinds.includes(reply[kindField])) throw refusalError(compiled, reply);
  return reply as HappenedRecord;
}

/** Explains that an event would take a sum out of its range. The metric or points system may have been deleted since. */
function outOfRange(compiled: CompiledCatalog, reply: Refusal & { [kindField]: typeof REFUSAL.outOfRange }): string {
  const no = reply[OUT_OF_RANGE.no] ?? 0;
  const counting = compiled.achievementsByNo.get(no) ?? compiled.triggersByNo.get(no);
  const sum = {
    [SUM.total]: "the user's total",
    [SUM.count]: `the user's count of events for '${counting?.id}'`,
    [SUM.period]: "the sum of the user's streak period",
    [SUM.score]: `the user's score on the leaderboard '${compiled.leaderboardsByNo.get(no)?.key}'`,
  }[reply[OUT_OF_RANGE.sum]];
  const metric = compiled.metricsByNo.get(reply[OUT_OF_RANGE.metric])?.key;
  return `Metric '${metric}': ${sum} would reach ${SUM_BOUND} or -${SUM_BOUND}; it must stay between them.`;
}

export class Overload extends AppError {
  constructor(text: string) {
    super('unavailable', text);
  }
}

/** Throws 503 while the outbox is full, to refuse calls that write to it. */
export function refuseOverload(overloaded: () => boolean): void {
  if (overloaded()) throw new Overload('Too many events wait to be stored; try again in a moment.');
}
