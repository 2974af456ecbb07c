import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { all } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { useToday } from '../api/clock.ts';
import { pointsQuery, triggersQuery, type AdminRead } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import { AnalysisLink } from '../resource/analysis-link.tsx';
import { EditLink } from '../resource/edit-link.tsx';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { boostText, causeText, ruleText, triggerRule } from '../rule-text.ts';
import { dayAfter, number } from '../ui/format.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const route = getRouteApi('/points/$id');

type Level = AdminRead<'/v1/points/{systemId}/levels'>[number];
type Trigger = AdminRead<'/v1/points/{systemId}/triggers'>[number];
type Boost = AdminRead<'/v1/points/{systemId}/boosts'>[number];

/** One points system: its triggers, levels and boosts. */
export function PointsSystemScreen() {
  const { id } = route.useParams();
  const system = useQuery(pointsQuery).data?.find((one) => one.id === id);
  return (
    <Screen
      title={system?.name ?? 'Points system'}
      parent={{ to: '/points', text: 'Points' }}
      about={system && <Code>{system.key}</Code>}
      actions={
        <>
          <EditLink to="/points" id={id} />
          <AnalysisLink to={{ view: 'points', id }} />
        </>
      }
    >
      <Triggers systemId={id} />
      <Levels systemId={id} />
      <Boosts systemId={id} />
    </Screen>
  );
}

const NONE = {
  trigger: 'A trigger says what awards points.',
  level: 'A level is reached with a number of points.',
  boost: 'A boost multiplies awards for some time.',
};

/** The text for an empty list of a kind. */
const none = (noun: keyof typeof NONE, systemId: string, example: object) => (
  <Empty title={`No ${noun}s yet`} curl={curl('POST', `/v1/points/${systemId}/${noun}s`, [example])}>
    {NONE[noun]} Create one here, or with:
  </Empty>
);

function Triggers({ systemId }: { systemId: string }) {
  const rules = useNamed();
  const ruleIn = (trigger: Trigger) => triggerRule(trigger, rules);
  const columns: Column<Trigger>[] = [
    { id: 'type', header: 'Type', value: ({ type }) => type, cell: ({ type }) => type.replace('_', ' ') },
    { id: 'cause', header: 'Awarded for', cell: (trigger) => causeText(ruleIn(trigger)), wraps: true },
    {
      id: 'points',
      header: 'Points',
      align: 'right',
      value: ({ points }) => points,
      cell: ({ points }) => number(points),
    },
    { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
  ];
  const fields = useForm('points_trigger');
  return (
    <ResourceList
      title="Triggers"
      noun="trigger"
      nameOf={(trigger) => `the trigger of ${ruleText(ruleIn(trigger))}`}
      query={triggersQuery(systemId)}
      columns={columns}
      fields={fields}
      {...editsOf(`/v1/points/${systemId}/triggers`)}
      empty={none('trigger', systemId, { type: 'user_creation', points: 5, status: 'active' })}
    />
  );
}

const LEVEL_COLUMNS: readonly Column<Level>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => name },
  { id: 'key', header: 'Key', cell: ({ key }) => <Code>{key}</Code> },
  {
    id: 'points',
    header: 'From points',
    align: 'right',
    value: ({ points }) => points,
    cell: ({ points }) => number(points),
  },
];
function Levels({ systemId }: { systemId: string }) {
  const path = { systemId };
  return (
    <ResourceList
      title="Levels"
      noun="level"
      nameOf={({ name }) => name}
      query={{
        queryKey: ['points', systemId, 'levels'],
        queryFn: () => all((query) => admin.GET('/v1/points/{systemId}/levels', { params: { path, query } })),
      }}
      columns={LEVEL_COLUMNS}
      fields={useForm('points_level')}
      {...editsOf(`/v1/points/${systemId}/levels`)}
      empty={none('level', systemId, { key: 'novice', name: 'Novice', points: 10 })}
    />
  );
}

function Boosts({ systemId }: { systemId: string }) {
  const path = { systemId };
  const rules = useNamed();
  const today = useToday();
  const columns: readonly Column<Boost>[] = [
    { id: 'name', header: 'Name', cell: ({ name }) => name },
    { id: 'rule', header: 'Rule', cell: (boost) => boostText(boost, rules), wraps: true },
    { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
  ];
  const fields = useForm('points_boost', { end: { initial: dayAfter(today, 7) } });
  return (
    <ResourceList
      title="Boosts"
      noun="boost"
      nameOf={({ name }) => name}
      query={{
        queryKey: ['points', systemId, 'boosts'],
        queryFn: () => all((query) => admin.GET('/v1/points/{systemId}/boosts', { params: { path, query } })),
      }}
      columns={columns}
      fields={fields}
      {...editsOf(`/v1/points/${systemId}/boosts`)}
      empty={none('boost', systemId, { name: 'Opening week', start: today, multiplier: 2 })}
    />
  );
}
