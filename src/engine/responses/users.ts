import { hash } from 'node:crypto';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { ManagedUser } from '../../domain/administration/admin.ts';
import { signUpDate } from '../../domain/anniversary.ts';
import type { User } from '../../domain/user.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import type { User as UserState } from '../../rules/user.ts';

interface ShownUser {
  userId: string;
  state: UserState;
  controlShare: number;
}

/** A user in the Application API. Attributes that were deleted from the catalog are omitted. */
export function userResponse({ attributesByNo }: CompiledCatalog, { userId, state, controlShare }: ShownUser): User {
  const attributes = byNumber(state.attributes).flatMap(([no, value]) => {
    const attribute = attributesByNo.get(no);
    return attribute === undefined ? [] : [[attribute.key, value]];
  });
  return {
    id: userId,
    email: state.email,
    name: state.name,
    tz: state.zone,
    signUpDate: signUpDate(state.signUp),
    deviceTokens: state.deviceTokens === null ? null : (JSON.parse(state.deviceTokens) as string[]),
    subscribeToEmails: !state.unsubscribed,
    attributes: Object.fromEntries(attributes) as Record<string, string>,
    control: isControl(userId, controlShare),
    created: new Date(state.createdMs).toISOString(),
    updated: new Date(state.updatedMs).toISOString(),
  };
}

/** The entries of a table by catalog number, ascending. */
export const byNumber = <T>(table: ReadonlyMap<number, T>): [no: number, value: T][] =>
  [...table].toSorted(([a], [b]) => a - b);

/** Whether a user is in the control group. A hash of the ID decides, so the answer changes only with the share. */
export function isControl(userId: string, controlShare: number): boolean {
  const digits = hash('sha256', `control:${userId}`, 'hex').slice(0, 8);
  return Number.parseInt(digits, 16) / 2 ** 32 < controlShare;
}

export const hidesItself = ({ hidden }: Pick<UserState, 'hidden'>): boolean => (hidden & HIDDEN_BY.user) !== 0;

export const managedUserResponse = (id: string, state: UserState): ManagedUser => ({
  id,
  hidden: (state.hidden & HIDDEN_BY.admin) !== 0,
  hiddenByUser: hidesItself(state),
});
