import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import type { TimelineEntry } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { SelectInput } from '../../ui/fields.tsx';
import { Failed, Panel, Waiting } from '../../ui/parts.tsx';
import { TimelineRow } from './timeline-row.tsx';
import { Options } from '../../ui/options.tsx';

const PAGE = 20;

const KINDS = {
  event: 'Events',
  reversal: 'Reversals',
  quarantine: 'Quarantine',
  recomputation: 'Recomputations',
  achievement: 'Achievements',
  award: 'Points',
  spending: 'Spending',
  streak: 'Streaks',
  leaderboard: 'Leaderboards',
  administration: 'Administration',
} as const;
type Kind = keyof typeof KINDS;

/** A user's timeline, newest first, with effects and reasons. Older entries load while scrolling. */
export function UserTimeline({ id }: { id: string }) {
  const [kind, setKind] = useState<Kind | ''>('');
  const pages = useInfiniteQuery({
    queryKey: ['user', id, 'timeline', kind],
    queryFn: ({ pageParam }) =>
      answer(
        admin.GET('/v1/users/{id}/timeline', {
          params: {
            path: { id },
            query: { limit: PAGE, ...(kind !== '' && { kind }), ...(pageParam !== null && { cursor: pageParam }) },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  const entries: TimelineEntry[] = pages.data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <Panel
      title="Timeline"
      actions={
        <SelectInput aria-label="Kind" value={kind} onChange={({ target }) => setKind(target.value as Kind | '')}>
          <option value="">Everything</option>
          <Options of={Object.entries(KINDS)} />
        </SelectInput>
      }
    >
      {pages.isError && <Failed error={pages.error} retry={() => void pages.refetch()} />}
      {pages.isPending && <Waiting />}
      {pages.isSuccess && entries.length === 0 && <p className="text-muted">No entries of this kind yet.</p>}
      <div
        role="region"
        aria-label="Timeline"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
        tabIndex={0}
        className="max-h-[32rem] overflow-y-auto"
      >
        <ol className="flex flex-col">
          {entries.map((entry) => (
            <TimelineRow key={entry.position} entry={entry} />
          ))}
        </ol>
        {pages.hasNextPage && (
          <More
            key={entries.length}
            busy={pages.isFetching}
            failed={pages.isError}
            onSeen={() => void pages.fetchNextPage()}
          />
        )}
      </div>
    </Panel>
  );
}

/** Loads further entries when it becomes visible or is pressed. */
function More({ busy, failed, onSeen }: { busy: boolean; failed: boolean; onSeen: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  const seen = useRef(onSeen);
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    seen.current = onSeen;
  });
  useEffect(() => {
    if (end.current === null) return undefined;
    const observer = new IntersectionObserver(
      // A busy page may report several changes at once. Only the last one is current.
      (changes) => setVisible(changes.at(-1)?.isIntersecting === true),
      { root: end.current.parentElement, rootMargin: '200px' },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  // Again if another read of the list took the place of this one.
  useEffect(() => {
    if (visible && !busy && !failed) seen.current();
  }, [visible, busy, failed]);
  return (
    <div ref={end} className="py-2 text-center">
      <Button look="bare" disabled={busy} onClick={onSeen}>
        {busy ? 'Loading …' : 'Show earlier'}
      </Button>
    </div>
  );
}
