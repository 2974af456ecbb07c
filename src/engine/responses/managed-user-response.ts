import type { ManagedUser } from '../../domain/admin.ts';
import type { UserState } from '../../packed/state.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';

/** Whether a user is hidden from leaderboards by own wish. */
export const hidesItself = ({ hidden }: Pick<UserState, 'hidden'>): boolean => (hidden & HIDDEN_BY.user) !== 0;

/** What administrators decide about a user. */
export const managedUserResponse = (id: string, state: UserState): ManagedUser => ({
  id,
  hidden: (state.hidden & HIDDEN_BY.admin) !== 0,
  hiddenByUser: hidesItself(state),
});
