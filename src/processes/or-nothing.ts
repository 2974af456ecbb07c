/** Redis or Postgres that does not answer within this time is reported as down; ms. */
const PATIENCE_MS = 2_000;

/** What is measured; null where it cannot be now. */
export async function orNothing<T>(measure: () => Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), PATIENCE_MS);
  });
  try {
    return await Promise.race([measure(), late]);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}
