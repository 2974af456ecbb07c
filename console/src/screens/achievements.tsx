import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { achievementsQuery, openJobsQuery, raritiesQuery, type Achievement } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import type { Values } from '../resource/field.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { achievementRule, causeText } from '../rule-text.ts';
import { BadgedName } from '../ui/badge.tsx';
import { counted, number, percent } from '../ui/format.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { OpenJob } from './open-job.tsx';

/** How many users would hold an achievement, as a sentence. */
async function previewed(sent: Values): Promise<string> {
  const { users, of, figure, examined, sample, reason } = await answer(
    admin.POST('/v1/achievements/preview', { body: sent }),
  );
  if (users === null) return reason ?? '';
  const some = sample.length === 0 ? '' : ` Among them: ${sample.slice(0, 3).join(', ')}.`;
  if (figure === 'exact') return `${number(users)} of ${counted(of, 'user')} would hold it now.${some}`;
  const about = figure === 'estimate' ? 'About' : 'At least';
  return `${about} ${number(users)} of ${counted(of, 'user')} would hold it now; ${number(examined)} were examined.${some}`;
}

export function Achievements() {
  const rules = useNamed();
  const rarities = useQuery(raritiesQuery).data;
  const jobs = useQuery(openJobsQuery).data;
  const fields = useForm('achievement');
  const held = (id: string) => rarities?.find((rarity) => rarity.id === id);
  const columns: Column<Achievement>[] = [
    {
      id: 'name',
      header: 'Name',
      value: ({ name }) => name,
      cell: (item) => <BadgedName {...item} />,
    },
    { id: 'condition', header: 'Completed by', cell: (item) => causeText(achievementRule(item, rules)), wraps: true },
    { id: 'key', header: 'Key', cell: ({ key }) => (key === undefined ? '' : <Code>{key}</Code>) },
    {
      id: 'completions',
      header: 'Completed',
      align: 'right',
      value: ({ id }) => held(id)?.completions ?? 0,
      cell: ({ id }) => {
        const rarity = held(id);
        const users = rarity && `${number(rarity.completions)} (${percent(rarity.rarity / 100)})`;
        // The job is still changing the number.
        return users === undefined || jobs?.some(({ subject }) => subject?.id === id) ? '–' : users;
      },
    },
    {
      id: 'status',
      header: 'Status',
      value: ({ status }) => status,
      cell: ({ id, status }) => (
        <>
          <Status of={status} /> <OpenJob of={id} />
        </>
      ),
    },
  ];
  return (
    <Screen title="Achievements" about="Goals that a user completes once, or once a period.">
      <ResourceList
        noun="achievement"
        nameOf={({ name }) => name}
        query={achievementsQuery}
        columns={columns}
        analysis={({ id }) => ({ view: 'achievements', id })}
        fields={fields}
        {...editsOf('/v1/achievements')}
        removal="It disappears for all users, also for those who completed it. The versions under Configuration can bring it back; it is then filled from history."
        preview={previewed}
        empty={
          <Empty
            title="No achievements yet"
            curl={curl('POST', '/v1/achievements', [
              { name: 'First steps', trigger: 'api', key: 'first-steps', status: 'active' },
            ])}
          >
            Create one here, or with:
          </Empty>
        }
      />
    </Screen>
  );
}
