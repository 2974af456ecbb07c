/** Texts of the page to unsubscribe in the languages that Laurel knows, for tenants without texts of their own. */
import type { MessageKind } from './message-variables.ts';
import type { UnsubscribeTexts } from './unsubscribe-page.ts';

/** `{app}` is the app's name and `{kind}` the noun of the kind, in the grammatical case of both sentences. */
interface Language extends UnsubscribeTexts {
  kinds: Readonly<Record<MessageKind, string>>;
  /** For links that are not valid. */
  invalidTitle: string;
  invalid: string;
}

const LANGUAGES = {
  en: {
    title: 'Unsubscribe',
    question: '{app}: do you no longer want {kind}?',
    button: 'Unsubscribe',
    doneTitle: 'You are unsubscribed',
    done: '{app} no longer sends you {kind}.',
    kinds: {
      streak_reminder: 'reminders about your streak',
      achievement_completed: 'e-mails about achievements',
      reactivation: 'e-mails after you have been away',
      recap: 'e-mails with your recap',
    },
    invalidTitle: 'This link is not valid',
    invalid: 'Open the link again from the e-mail, in full.',
  },
  de: {
    title: 'Abbestellen',
    question: '{app}: Möchtest du keine {kind} mehr bekommen?',
    button: 'Abbestellen',
    doneTitle: 'Abbestellt',
    done: '{app} schickt dir keine {kind} mehr.',
    kinds: {
      streak_reminder: 'Erinnerungen an deine Serie',
      achievement_completed: 'E-Mails über Erfolge',
      reactivation: 'E-Mails nach einer Pause',
      recap: 'E-Mails mit deinem Rückblick',
    },
    invalidTitle: 'Dieser Link ist ungültig',
    invalid: 'Öffne den Link noch einmal vollständig aus der E-Mail.',
  },
  fr: {
    title: 'Se désabonner',
    question: '{app}\u00a0: ne plus recevoir {kind}\u00a0?',
    button: 'Se désabonner',
    doneTitle: 'Désabonnement confirmé',
    done: '{app} ne vous enverra plus {kind}.',
    kinds: {
      streak_reminder: 'de rappels de votre série',
      achievement_completed: 'd’e-mails sur vos succès',
      reactivation: 'd’e-mails après une absence',
      recap: 'd’e-mails récapitulatifs',
    },
    invalidTitle: 'Ce lien n’est pas valide',
    invalid: 'Ouvrez de nouveau le lien complet depuis l’e-mail.',
  },
  es: {
    title: 'Darse de baja',
    question: '{app}: ¿no quieres recibir más {kind}?',
    button: 'Darse de baja',
    doneTitle: 'Suscripción cancelada',
    done: '{app} ya no te enviará {kind}.',
    kinds: {
      streak_reminder: 'recordatorios de tu racha',
      achievement_completed: 'correos sobre logros',
      reactivation: 'correos después de una ausencia',
      recap: 'correos con tu resumen',
    },
    invalidTitle: 'Este enlace no es válido',
    invalid: 'Abre de nuevo el enlace completo desde el correo.',
  },
  it: {
    title: 'Annulla iscrizione',
    question: '{app}: non vuoi più ricevere {kind}?',
    button: 'Annulla iscrizione',
    doneTitle: 'Iscrizione annullata',
    done: '{app} non ti invierà più {kind}.',
    kinds: {
      streak_reminder: 'promemoria sulla tua serie',
      achievement_completed: 'e-mail sugli obiettivi raggiunti',
      reactivation: 'e-mail dopo un periodo di assenza',
      recap: 'e-mail con il tuo riepilogo',
    },
    invalidTitle: 'Questo link non è valido',
    invalid: 'Apri di nuovo il link completo dall’e-mail.',
  },
  pt: {
    title: 'Cancelar inscrição',
    question: '{app}: não quer mais receber {kind}?',
    button: 'Cancelar inscrição',
    doneTitle: 'Inscrição cancelada',
    done: '{app} não enviará mais {kind} para você.',
    kinds: {
      streak_reminder: 'lembretes da sua sequência',
      achievement_completed: 'e-mails sobre conquistas',
      reactivation: 'e-mails após uma ausência',
      recap: 'e-mails com o seu resumo',
    },
    invalidTitle: 'Este link não é válido',
    invalid: 'Abra novamente o link completo do e-mail.',
  },
  nl: {
    title: 'Afmelden',
    question: '{app}: wil je geen {kind} meer ontvangen?',
    button: 'Afmelden',
    doneTitle: 'Je bent afgemeld',
    done: '{app} stuurt je geen {kind} meer.',
    kinds: {
      streak_reminder: 'herinneringen aan je reeks',
      achievement_completed: 'e-mails over prestaties',
      reactivation: 'e-mails na een periode van afwezigheid',
      recap: 'e-mails met je terugblik',
    },
    invalidTitle: 'Deze link is niet geldig',
    invalid: 'Open de volledige link opnieuw vanuit de e-mail.',
  },
  sv: {
    title: 'Avsluta prenumeration',
    question: '{app}: vill du inte längre få {kind}?',
    button: 'Avsluta prenumeration',
    doneTitle: 'Prenumerationen är avslutad',
    done: '{app} skickar inte längre {kind} till dig.',
    kinds: {
      streak_reminder: 'påminnelser om din svit',
      achievement_completed: 'mejl om prestationer',
      reactivation: 'mejl efter en tids frånvaro',
      recap: 'mejl med din sammanfattning',
    },
    invalidTitle: 'Länken är inte giltig',
    invalid: 'Öppna hela länken från mejlet igen.',
  },
  pl: {
    title: 'Wypisz się',
    question: '{app}: czy nie chcesz już otrzymywać {kind}?',
    button: 'Wypisz się',
    doneTitle: 'Wypisano',
    done: '{app} nie będzie już wysyłać Ci {kind}.',
    kinds: {
      streak_reminder: 'przypomnień o Twojej serii',
      achievement_completed: 'e-maili o osiągnięciach',
      reactivation: 'e-maili po przerwie',
      recap: 'e-maili z podsumowaniem',
    },
    invalidTitle: 'Ten link jest nieprawidłowy',
    invalid: 'Otwórz ponownie cały link z e-maila.',
  },
  ja: {
    title: '配信停止',
    question: '{app}：{kind}の配信を停止しますか？',
    button: '配信を停止する',
    doneTitle: '配信を停止しました',
    done: '今後、{app}から{kind}は届きません。',
    kinds: {
      streak_reminder: '連続記録のリマインダー',
      achievement_completed: '実績に関するメール',
      reactivation: 'しばらくご利用がないときのメール',
      recap: '振り返りのメール',
    },
    invalidTitle: 'このリンクは無効です',
    invalid: 'メール内のリンクをもう一度、途中で切れないように開いてください。',
  },
  zh: {
    title: '退订',
    question: '{app}：您不想再收到{kind}吗？',
    button: '退订',
    doneTitle: '您已退订',
    done: '{app}将不再向您发送{kind}。',
    kinds: {
      streak_reminder: '连续记录提醒',
      achievement_completed: '成就邮件',
      reactivation: '久未使用提醒邮件',
      recap: '总结邮件',
    },
    invalidTitle: '此链接无效',
    invalid: '请重新打开邮件中的完整链接。',
  },
} satisfies Record<string, Language>;

/** Languages of the built-in texts. */
export type KnownLanguage = keyof typeof LANGUAGES;

export const KNOWN_LANGUAGES = Object.keys(LANGUAGES) as readonly KnownLanguage[];

/** The texts for a kind of e-mail in a language. */
export function builtInTexts(language: KnownLanguage, kind: MessageKind, appName: string): UnsubscribeTexts {
  const { title, question, button, doneTitle, done, kinds } = LANGUAGES[language];
  const filled = (text: string): string => text.replace('{kind}', kinds[kind]).replace('{app}', () => appName);
  return { title, question: filled(question), button, doneTitle, done: filled(done) };
}

/** The texts of a link that is not valid. */
export const invalidLinkTexts = (language: KnownLanguage): { title: string; text: string } => ({
  title: LANGUAGES[language].invalidTitle,
  text: LANGUAGES[language].invalid,
});
