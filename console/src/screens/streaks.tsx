import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { AnalysisLink } from '../resource/analysis-link.tsx';
import { FieldsForm } from '../resource/editor.tsx';
import { useForm } from '../resource/use-form.ts';
import { Failed, Panel, Screen, Waiting } from '../ui/parts.tsx';

/** Freezes that are off have no settings, so all fields are requested. */
const OFF = { enabled: false };

export function Streaks() {
  const settings = useQuery({
    queryKey: ['streak-settings'],
    queryFn: () => answer(admin.GET('/v1/streaks/settings')),
  });
  const rule = useForm('streaks');
  const freezes = useForm('freezes');
  return (
    <Screen
      title="Streaks"
      about="A streak counts the days, weeks or months in a row in which a user was active."
      actions={<AnalysisLink to={{ view: 'streaks' }} />}
    >
      {settings.isPending && <Waiting of="fields" />}
      {settings.isError && <Failed error={settings.error} />}
      {settings.data && (
        <>
          <Panel title="Rule" className="max-w-3xl">
            <FieldsForm
              fields={rule}
              item={settings.data}
              save={(body) => answer(admin.PATCH('/v1/streaks/settings', { body }))}
              done="Saved."
            />
          </Panel>
          <Panel title="Freezes" className="max-w-3xl">
            <FieldsForm
              fields={freezes}
              item={settings.data.freezes ?? OFF}
              save={(sent) => answer(admin.PATCH('/v1/streaks/settings', { body: { freezes: sent } }))}
              done="Saved."
            />
          </Panel>
        </>
      )}
    </Screen>
  );
}
