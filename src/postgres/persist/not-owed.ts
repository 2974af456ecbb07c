/**
 * SQL: whether the last state of a user was stored, true for almost all users. `owed_position IS NULL` would be slower: for a column without statistics
 * the planner assumes 0.5 % nulls, and read the whole table for each batch (worker and Postgres: 380 µs per event instead of 80). For this
 * comparison it assumes a third.
 */
export const NOT_OWED = 'num_nulls(users.owed_position) > 0';
