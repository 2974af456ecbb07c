import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { answer } from '../../api/answer.ts';
import { application } from '../../api/client.ts';
import { useLiveUser } from '../../api/live.ts';
import { managedUserQuery } from '../../api/queries.ts';
import { Ago } from '../../ui/ago.tsx';
import { calendarDays } from '../../ui/format.ts';
import { Code, Facts, Failed, Panel, Screen, Tag, Waiting } from '../../ui/parts.tsx';
import { UserAchievements } from './user-achievements.tsx';
import { UserActions } from './user-actions.tsx';
import { UserEmails } from './user-emails.tsx';
import { UserHistory } from './user-history.tsx';
import { UserPoints } from './user-points.tsx';
import { UserRanks } from './user-ranks.tsx';
import { UserStreak } from './user-streak.tsx';
import { UserTimeline } from './user-timeline.tsx';
import { UserTotals } from './user-totals.tsx';

const route = getRouteApi('/users/$id');

/** Shows who hides the user from leaderboards. */
function HiddenTag({ id }: { id: string }) {
  const { hidden, hiddenByUser } = useQuery(managedUserQuery(id)).data ?? {};
  if (hidden !== true && hiddenByUser !== true) return null;
  return <Tag tone="warn">{hidden === true ? 'hidden from leaderboards' : 'hidden by own choice'}</Tag>;
}

/** Everything about one user. */
export function UserScreen() {
  const { id } = route.useParams();
  useLiveUser(id);
  const user = useQuery({
    queryKey: ['user', id],
    queryFn: () => answer(application.GET('/v1/users/{id}', { params: { path: { id } } })),
  });
  if (user.data === undefined)
    return (
      <Screen title={id} parent={{ to: '/users', text: 'Users' }}>
        {user.isError ? <Failed error={user.error} retry={() => void user.refetch()} /> : <Waiting />}
      </Screen>
    );
  const { name, email, tz, signUpDate, created, updated, attributes, control, subscribeToEmails } = user.data;
  return (
    <Screen
      title={name === null || name === '' ? id : name}
      parent={{ to: '/users', text: 'Users' }}
      about={
        <>
          <Code>{id}</Code> {control && <Tag>control group</Tag>} <HiddenTag id={id} />
        </>
      }
      actions={<UserActions user={user.data} />}
    >
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-4">
          <UserStreak id={id} />
          <UserTotals id={id} />
          <UserPoints id={id} />
          <UserAchievements id={id} />
          <UserTimeline id={id} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Panel title="Profile">
            <Facts
              of={[
                ['E-mail', email],
                ['Time zone', tz ?? 'none: days end at midnight UTC'],
                ['Signed up', signUpDate && calendarDays(signUpDate)],
                ['Created', <Ago key="created" at={created} />],
                ['Updated', <Ago key="updated" at={updated} />],
                ...Object.entries(attributes).map(([key, value]) => [key, value] as const),
              ]}
            />
          </Panel>
          <UserRanks id={id} />
          <UserEmails id={id} subscribed={subscribeToEmails} />
          <UserHistory id={id} />
        </div>
      </div>
    </Screen>
  );
}
