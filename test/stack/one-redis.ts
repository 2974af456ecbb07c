/** Test files that are left out when all is tried on several Redis (`TEST_REDIS`), and why. */
export const ONE_REDIS: Record<string, string> = {
};
