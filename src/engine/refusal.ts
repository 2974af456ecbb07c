import type { CompiledCatalog } from '../catalog/compiled-catalog.ts';
import { AppError } from '../errors.ts';
import type { ScriptReply } from '../redis/record.ts';

export const SUBSCRIBED_WITHOUT_ADDRESS =
  'user.subscribeToEmails cannot be true: the user has no e-mail address on record.';

/** The error that tells why a script refused an event or a call about a user. */
export function refusalError(compiled: CompiledCatalog, reply: ScriptReply): AppError {
  if (reply.k === 'm') {
    return new AppError('unprocessable', SUBSCRIBED_WITHOUT_ADDRESS);
  }
  if (reply.k === 'o') {
    const trigger = compiled.triggersByNo.get(reply.trigger);
    const system = compiled.pointsSystemsById.get(trigger?.systemId ?? '');
    return new AppError('unprocessable', `Out of points: the user's balance in '${system?.key}' does not cover this.`);
  }
  if (reply.k === 'n') return new AppError('not_found', 'Unknown user: no event and no call has named this ID yet.');
  if (reply.k === 'l') return new AppError('unprocessable', 'The achievement is locked: no one new gets it.');
  if (reply.k === 'q') {
    return new AppError('unprocessable', "The user's attributes do not meet the achievement's conditions.");
  }
  return new AppError('internal', 'Internal error');
}
