import type { NotificationPreferences } from '../../../../domain/preferences.ts';
import type { UserState } from '../../../../packed/state.ts';
import { isControl } from '../../../responses/user-response.ts';
import { notificationPreferences } from '../../../users/preferences.ts';

/**
 * Whether a user may be written to about something: has an e-mail address, wants e-mails, also of that kind, and is not in
 * the control group. `controlShare`: share of the users, 0 to 1, who are.
 */
export const isReachable = (
  { userId, state }: { userId: string; state: UserState },
  kind: keyof NotificationPreferences,
  controlShare: number,
): boolean =>
  state.email !== null &&
  state.subscribed &&
  notificationPreferences(state)[kind].includes('email') &&
  !isControl(userId, controlShare);
