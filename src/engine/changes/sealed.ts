/** Users who are sealed: their merge across shards has begun, and a worker ends it (decision 54). */
import { AppError } from '../../errors.ts';
import { pack } from '../../packed/state.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { SEALED_MS } from '../../rules/user.ts';

const SEAL_BYTES = pack(SEALED_MS);

/** Whether a packed state is that of a sealed user. Only states that contain the bytes of a seal are decoded. */
export const isSealed = (packed: Buffer): boolean =>
  packed.includes(SEAL_BYTES) && decodeUser(packed).heldUntilMs === SEALED_MS;

/** A change of a user who is sealed. */
export class UserSealed extends AppError {
  constructor() {
    super('unavailable', 'The user is being merged with another; try again in a moment.');
  }
}
