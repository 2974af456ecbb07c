import { PROFILE_BYTES, STATE_BYTES } from '../../packed/state.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';

/** Why a state that a request changed may not be written. One that already exceeds a limit may shrink. */
export function lackOfRoom(
  user: User,
  packed: Buffer,
  before: Buffer | null,
): { refusal: 'tooLarge' | 'profileTooLarge' } | null {
  const profile = packed.length > PROFILE_BYTES ? profileBytes(user) : 0;
  if (profile > PROFILE_BYTES && (before === null || profile > profileBytes(decodeUser(before))))
    return { refusal: 'profileTooLarge' };
  const hasRoom = packed.length <= STATE_BYTES || (before !== null && packed.length <= before.length);
  return hasRoom ? null : { refusal: 'tooLarge' };
}

function profileBytes({ name, email, deviceTokens, attributes }: User): number {
  return [name, email, deviceTokens, ...attributes.values()].reduce(
    (bytes, text) => bytes + (text === null ? 0 : Buffer.byteLength(text)),
    0,
  );
}
