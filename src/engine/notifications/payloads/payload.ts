import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { PayloadOf } from '../../../domain/notification-payloads.ts';
import type { NotificationType } from '../../../domain/notification.ts';
import { userResponse } from '../../responses/user-response.ts';
import type { UserState } from '../../../packed/state.ts';

/** JSON text of a user, as every payload about one holds it: made once for all notifications about that state. */
export type UserJson = string & { readonly isUser: true };

/** The JSON text of a user in a state. `controlShare`: share of the users, 0 to 1, who are in the control group. */
export const userJson = (
  compiled: CompiledCatalog,
  shown: { userId: string; state: UserState; controlShare: number },
): UserJson => JSON.stringify(userResponse(compiled, shown)) as UserJson;

/** The JSON text of a payload that is about no single user: `type` and the fields. */
export const payloadJson = <T extends NotificationType>(type: T, fields: Omit<PayloadOf<T>, 'type'>): string =>
  JSON.stringify({ type, ...fields });

/** The JSON text of a payload about a user: `type`, `user` and the other fields. */
export const userPayloadJson = <T extends NotificationType>(
  type: T,
  user: UserJson,
  fields: Omit<PayloadOf<T>, 'type' | 'user'>,
): string => `{"type":"${type}","user":${user},${JSON.stringify(fields).slice(1)}`;

/** A time (epoch ms) as payloads hold it. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();
