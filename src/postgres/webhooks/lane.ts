/** SQL: a message's lane, within which messages are sent one after another. 0 if it is not about a single user. */
export const LANE = 'coalesce(hashtext(user_id), 0)';
