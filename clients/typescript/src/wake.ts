/** What browsers have, and other runtimes may lack. */
type Events = Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;
type Page = Events & { document?: Events & { visibilityState?: string } };

/**
 * Calls `listener` when a browser is online again, or shows the page again: then an attempt may succeed, and timers may have stood
 * still. Returns a function that ends this. Does nothing in other runtimes.
 */
export function onWake(listener: () => void): () => void {
  const page = globalThis as Page;
  const { document } = page;
  const onShown = (): void => {
    if (document?.visibilityState === 'visible') listener();
  };
  page.addEventListener?.('online', listener);
  document?.addEventListener?.('visibilitychange', onShown);
  return () => {
    page.removeEventListener?.('online', listener);
    document?.removeEventListener?.('visibilitychange', onShown);
  };
}
