import type { Loaded } from 'laurel-client/react';
import { useId, type ReactNode } from 'react';

interface PanelProps<T> {
  title: string;
  /** What a hook returned. */
  loaded: Loaded<T>;
  children: (data: T) => ReactNode;
}

/** A section with the data of a hook: a placeholder while it loads, and its last data with a notice if it cannot be read. */
export function Panel<T>({ title, loaded, children }: PanelProps<T>) {
  const id = useId();
  const { status, data, error, refresh } = loaded;
  return (
    <section className="panel" aria-labelledby={id} aria-busy={status === 'loading'}>
      <h2 id={id}>{title}</h2>
      {status === 'loading' && <p className="placeholder">Loading …</p>}
      {status === 'failed' && (
        <p role="alert" className="problem">
          {error.isTransient ? 'There is no connection.' : 'This cannot be shown.'}{' '}
          <button type="button" className="quiet" onClick={() => void refresh()}>
            Try again
          </button>
        </p>
      )}
      {data !== undefined && children(data)}
    </section>
  );
}
