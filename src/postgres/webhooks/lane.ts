/** Of a message's columns: its lane of the queue, in which messages go one after another. 0: about no single user. */
export const LANE = 'coalesce(hashtext(user_id), 0)';
