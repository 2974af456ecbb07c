/**
 * Called for each user whose stored state cannot be read. It is loaded as it is, since only what is in it says what was
 * there; the user is on no board and counted nowhere, and each of the user's calls fails until the user is deleted or a
 * state is stored that can be read.
 */
export type OnUnreadable = (user: { tenantNo: number; id: string }) => void;
