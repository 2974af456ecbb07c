import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { moment, number } from '../../ui/format.ts';
import { Facts, Failed, Panel, Screen, Waiting } from '../../ui/parts.tsx';
import { RecomputationActions } from './actions.tsx';
import { PlannedUsers, RecomputationFigures } from './plan.tsx';
import { doing, isUnderWay, RecomputationStatus, RECOMPUTED, UNDER_WAY_MS } from './status.tsx';

const route = getRouteApi('/recomputations/$id');

const PARENT = { to: '/recomputations', text: 'Recomputations' } as const;

type Recomputation = AdminRead<'/v1/recomputations/{id}'>;

/** One recomputation: its progress, its changes, and some of its users. */
export function RecomputationScreen() {
  const { id } = route.useParams();
  const found = useQuery({
    queryKey: ['recomputations', id],
    queryFn: () => answer(admin.GET('/v1/recomputations/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data.status) ? UNDER_WAY_MS : false),
  });
  if (found.isPending) return <Waiting />;
  if (found.isError)
    return (
      <Screen title="Recomputation" parent={PARENT}>
        <Failed error={found.error} retry={() => void found.refetch()} />
      </Screen>
    );
  const { status, request, error, samples } = found.data;
  return (
    <Screen
      title={
        <>
          Recomputation of {request.what.map((one) => RECOMPUTED[one]).join(' and ')}{' '}
          <RecomputationStatus of={status} />
        </>
      }
      name={`Recomputation of ${moment(found.data.requested)}`}
      parent={PARENT}
      about={aboutOf(request)}
      actions={<RecomputationActions recomputation={found.data} />}
    >
      {error !== null && <Failed error={new Error(error)} />}
      <Progress recomputation={found.data} />
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <RecomputationFigures figures={found.data.figures} />
        <Panel title="History">
          <History recomputation={found.data} />
        </Panel>
      </div>
      <PlannedUsers title="Examples of users who gain" users={samples.gaining} />
      <PlannedUsers title="Examples of users who lose" users={samples.losing} />
      <PlannedUsers title="Skipped users" users={samples.left} />
    </Screen>
  );
}

const aboutOf = ({ since, cohort, mayRevoke }: Recomputation['request']): string =>
  [
    since === null ? 'Whole history.' : `Since ${since}.`,
    cohort.userAttributes === null ? 'All users.' : `Users with ${cohort.userAttributes}.`,
    mayRevoke ? 'Users may lose something.' : 'No user loses anything.',
  ].join(' ');

/** Progress while it is running. */
function Progress({ recomputation: { status, progress } }: { recomputation: Recomputation }) {
  const text = doing(status);
  if (text === null) return null;
  const { users, of } = progress;
  return (
    <div role="status" className="flex flex-col gap-1">
      <span>
        {text}: {number(users)} {of !== null && `of ${number(of)} `}users
      </span>
      <progress
        aria-label={text}
        className="h-2 w-full accent-accent"
        max={of ?? 1}
        {...(of !== null && { value: users })}
      />
    </div>
  );
}

const History = ({ recomputation }: { recomputation: Recomputation }) => {
  const { requestedBy, requested, planned, applied, reverted, outcome } = recomputation;
  return (
    <Facts
      of={[
        ['Requested', `${moment(requested)} by ${requestedBy}`],
        ['Planned', moment(planned)],
        ['Applied', moment(applied)],
        ['Reverted', moment(reverted)],
        ['Users applied', number(outcome.applied)],
        ['Users reverted', number(outcome.reverted)],
        ['Users skipped', number(outcome.skipped)],
      ]}
    />
  );
};
