// The shared file tools for Pi: it offers what the gateway's /v1/tools offers, and asks there for each call.
// The gateway is the provider of Pi's models.json. Start Pi with --no-builtin-tools --extension <this file>.

import { readFileSync } from "node:fs";
import { join } from "node:path";

function gateway(): { url: string; headers: Record<string, string> } {
  const file = join(process.env.PI_CODING_AGENT_DIR ?? "", "models.json");
  const providers: any[] = Object.values(JSON.parse(readFileSync(file, "utf8")).providers);
  return {
    url: new URL("/v1/tools", providers[0].baseUrl).href,
    headers: { authorization: `Bearer ${providers[0].apiKey}`, "content-type": "application/json" },
  };
}

export default async function (pi: any) {
  const { url, headers } = gateway();
  async function ask(init: object): Promise<any> {
    const reply = await fetch(url, { headers, ...init });
    if (!reply.ok) throw new Error(`the gateway answered /v1/tools with HTTP ${reply.status}`);
    return reply.json();
  }

  const { tools } = await ask({});
  for (const tool of tools) {
    pi.registerTool({
      ...tool,
      label: tool.name,
      async execute(_id: string, params: object, signal?: AbortSignal) {
        const body = JSON.stringify({ name: tool.name, arguments: params });
        const seen = await ask({ method: "POST", body, signal });
        if (!seen.ok) throw new Error(seen.content); // which Pi tells its model as a failed call
        return { content: [{ type: "text", text: seen.content }], details: undefined };
      },
    });
  }
}
