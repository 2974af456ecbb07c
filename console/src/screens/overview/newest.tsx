import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import type { FeedEvent } from '../../api/feed.ts';
import { Badge } from '../../ui/badge.tsx';
import { Ago } from '../../ui/ago.tsx';
import { number } from '../../ui/format.ts';
import { Code, Failed, Panel } from '../../ui/parts.tsx';

const SHOWN = 8;

const ToUser = ({ id, name }: { id: string; name?: string | null }) => (
  <Link to="/users/$id" params={{ id }} className="min-w-0 truncate font-medium hover:underline">
    {name ?? id}
  </Link>
);

/** The newest events. */
export const NewestEvents = ({ events }: { events: readonly FeedEvent[] }) => (
  <Panel title="Live events">
    {events.length === 0 && <p className="text-muted">Events appear here within a second while this page is open.</p>}
    <ul aria-live="off">
      {events.slice(0, SHOWN).map(({ id, userId, metricKey, value, at }) => (
        <li key={id} className="flex items-center gap-3 py-0.5">
          <ToUser id={userId} />
          <span className="min-w-0 grow truncate">
            <Code>{metricKey}</Code> {value > 0 ? `+${number(value)}` : number(value)}
          </span>
          <Ago at={at} className="whitespace-nowrap text-muted" />
        </li>
      ))}
    </ul>
  </Panel>
);

/** The newest completions. */
export function NewestCompletions() {
  const completions = useQuery({
    queryKey: ['activity', 'completions'],
    queryFn: () => answer(admin.GET('/v1/activity/completions')),
  });
  return (
    <Panel title="Latest completions">
      {completions.isError && <Failed error={completions.error} />}
      {completions.data?.length === 0 && <p className="text-muted">No achievements were completed yet.</p>}
      <ul>
        {completions.data?.slice(0, SHOWN).map(({ userId, userName, achievementId, achievementName, badgeUrl, at }) => (
          <li key={`${userId} ${achievementId}`} className="flex items-center gap-2 py-0.5">
            <Badge url={badgeUrl} />
            <span className="min-w-0 grow truncate">{achievementName}</span>
            <ToUser id={userId} name={userName} />
            <Ago at={at} className="whitespace-nowrap text-muted" />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
