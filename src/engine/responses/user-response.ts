import { createHash } from 'node:crypto';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { signUpDate } from '../../domain/anniversary.ts';
import type { User } from '../../domain/user.ts';
import type { UserState } from '../../packed/state.ts';

interface ShownUser {
  userId: string;
  state: UserState;
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: number;
}

/** A user as the Application API shows one. Attributes that were deleted from the catalog are left out. */
export function userResponse({ attributesByNo }: CompiledCatalog, { userId, state, controlShare }: ShownUser): User {
  const attributes = Object.entries(state.attributes).flatMap(([no, value]) => {
    const attribute = attributesByNo.get(Number(no));
    return attribute === undefined ? [] : [[attribute.key, value]];
  });
  return {
    id: userId,
    email: state.email,
    name: state.name,
    tz: state.tz,
    signUpDate: signUpDate(state.signUp),
    deviceTokens: state.deviceTokens,
    subscribeToEmails: state.subscribed,
    attributes: Object.fromEntries(attributes) as Record<string, string>,
    control: isControl(userId, controlShare),
    created: new Date(state.createdMs).toISOString(),
    updated: new Date(state.updatedMs).toISOString(),
  };
}

/** Whether a user is in the control group: a hash of the ID decides, so the answer is stable while the share is. */
export function isControl(userId: string, controlShare: number): boolean {
  const hash = createHash('sha256').update(`control:${userId}`).digest();
  return hash.readUInt32BE(0) / 2 ** 32 < controlShare;
}
