import { useQuery } from '@tanstack/react-query';
import { Check } from 'lucide-react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { application } from '../../api/client.ts';
import { achievementsQuery } from '../../api/queries.ts';
import { useNamed } from '../../api/use-named.ts';
import { achievementRule, causeText } from '../../rule-text.ts';
import { Badge } from '../../ui/badge.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { ago, calendarDays, counted, moment, number, percent } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';

export function UserAchievements({ id }: { id: string }) {
  const achievements = useQuery({
    queryKey: ['user', id, 'achievements'],
    queryFn: () =>
      answer(
        application.GET('/v1/users/{id}/achievements', {
          params: { path: { id }, query: { includeIncomplete: 'true' } },
        }),
      ),
  });
  const rules = useNamed();
  const configured = useQuery(achievementsQuery).data;
  const ruleOf = (achievement: string): string | undefined => {
    const found = configured?.find((one) => one.id === achievement);
    return found && causeText(achievementRule(found, rules));
  };
  // Final ranks complete it, and no call can.
  const isForRanks = (achievement: string): boolean =>
    Boolean(configured?.find((one) => one.id === achievement)?.leaderboardId);
  const done = achievements.data?.filter(({ achievedAt }) => achievedAt !== null).length ?? 0;
  return (
    <Panel title={achievements.data ? `Achievements: ${done} of ${achievements.data.length}` : 'Achievements'}>
      {achievements.isError && <Failed error={achievements.error} />}
      {achievements.data?.length === 0 && <p className="text-muted">No active achievements.</p>}
      <ul className="grid gap-x-6 sm:grid-cols-2">
        {achievements.data?.map(
          ({
            id: achievement,
            key,
            name,
            description,
            trigger,
            achievedAt,
            rarity,
            badgeUrl,
            timesCompleted,
            period,
          }) => (
            <li key={achievement} className="flex min-h-11 items-center gap-2.5 border-b border-line py-1.5">
              <span
                className={`grid size-5 shrink-0 place-items-center rounded-full ${achievedAt === null ? 'border border-line-strong' : 'bg-accent text-on-accent'}`}
              >
                {achievedAt !== null && <Check size={13} strokeWidth={3} aria-label="Completed" />}
              </span>
              <Badge url={badgeUrl} dim={achievedAt === null} />
              <span className="min-w-0 grow">
                <span className="block truncate font-medium">{name}</span>
                <span
                  className="block truncate text-xs text-muted"
                  title={achievedAt === null ? undefined : moment(achievedAt)}
                >
                  {achievedAt === null
                    ? (description ?? ruleOf(achievement) ?? trigger)
                    : `${ago(achievedAt)} · held by ${percent(rarity / 100)} of users`}
                </span>
                {period !== undefined && (
                  <span className="block truncate text-xs text-muted">
                    {[
                      timesCompleted !== undefined && `Completed ${counted(timesCompleted, 'time')}`,
                      progressText(period),
                    ]
                      .filter(Boolean)
                      .join(' · ')}
                  </span>
                )}
              </span>
              {achievedAt === null && trigger === 'api' && key !== undefined && !isForRanks(achievement) && (
                <Complete user={id} achievement={key} name={name} />
              )}
            </li>
          ),
        )}
      </ul>
    </Panel>
  );
}

/** `12 now: 23–29 Nov 2026`, or that the period is completed. */
function progressText({
  start,
  end,
  progress,
  completed,
}: {
  start: string | null;
  end: string | null;
  progress: number;
  completed: boolean;
}): string {
  const days =
    start !== null && end !== null
      ? calendarDays(start, end)
      : [start && `from ${calendarDays(start)}`, end && `until ${calendarDays(end)}`].filter(Boolean).join(' ');
  return completed ? `completed: ${days}` : `${number(progress)} now: ${days}`;
}

/** Completes an achievement of the trigger `api`. */
function Complete({ user: id, achievement: key, name }: { user: string; achievement: string; name: string }) {
  const complete = useChange({
    run: () =>
      answer(
        application.POST('/v1/achievements/{key}/complete', { params: { path: { key } }, body: { user: { id } } }),
      ),
    done: 'The achievement is completed.',
  });
  return (
    <ConfirmedButton
      look="bare"
      aria-label={`Complete ${name}`}
      change={complete}
      title={`Complete ${name}?`}
      action="Complete"
      about={`${id} holds the achievement from now on, with the points that it awards.`}
    >
      Complete
    </ConfirmedButton>
  );
}
